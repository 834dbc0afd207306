"""Operations that no command calls, each with its reason."""

from __future__ import annotations

from typing import Final

SIGNING_IN: Final = "gridloom login and join call it, before there is a client (test_signing_in.py)"
BROWSER: Final = "a browser follows it while gridloom login --sso waits"
CONSOLE: Final = "the console's own session, by a cookie"
PAGE: Final = "a page for a browser"
FILES: Final = "gridloom import sends files there (test_shown_by_commands.py)"
BUCKETS: Final = "gridloom revenue shows the same sums product by product"
STREAM: Final = "a stream: gridloom events tail and monitoring tail (test_shown_by_commands.py)"
WAITED: Final = "a command asks for it while it waits (test_shown_by_commands.py)"

WITHOUT_COMMAND: Final[dict[str, str]] = {
    "authenticate": SIGNING_IN,
    "completeLogin": SIGNING_IN,
    "acceptInvitation": SIGNING_IN,
    "exchangeSsoCode": SIGNING_IN,
    "logout": SIGNING_IN,
    "refreshTokens": "every command renews its token by itself",
    "readKeySet": "keys for programs that check tokens",
    "startSingleSignOn": BROWSER,
    "finishSingleSignOn": BROWSER,
    "beginConsoleSession": CONSOLE,
    "readConsoleSession": CONSOLE,
    "endConsoleSession": CONSOLE,
    "showFrontPage": PAGE,
    "showDocumentation": PAGE,
    "readDocumentationAsset": PAGE,
    "listProblemTypes": PAGE,
    "explainProblemType": PAGE,
    "readSecurityContact": PAGE,
    "readLiveness": "for what restarts processes; people ask gridloom health",
    "readMetrics": "for Prometheus",
    "readInterface": "gridloom openapi prints it",
    "recordWholesaleTrades": FILES,
    "recordFcr": FILES,
    "recordAfrrCapacity": FILES,
    "recordAfrrEnergy": FILES,
    "recordNetOff": FILES,
    "recordTollingContracts": FILES,
    "recordReferencePrices": FILES,
    "writeDatapoints": FILES,
    "writeDatapointsOfMany": FILES,
    "readDatapoints": "gridloom monitoring export writes files of it (test_sent_by_commands.py)",
    "readWholesaleRevenue": BUCKETS,
    "readAncillaryRevenue": BUCKETS,
    "readTollingRevenue": BUCKETS,
    "readVirtualBatteryAuctionRevenue": BUCKETS,
    "followEvents": STREAM,
    "followDatapoints": STREAM,
    "issueStatements": WAITED,
    "readStatementRun": WAITED,
    "createBacktest": WAITED,
    "readBacktest": WAITED,
    "listBacktestDays": WAITED,
    "runFeed": WAITED,
    "listFeedRuns": WAITED,
    "optimiseVirtualAsset": WAITED,
    "readOptimisation": WAITED,
    "repairSchedule": WAITED,
    "takeSimulatorStep": "the simulated world's own step",
}
