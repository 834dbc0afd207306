"""The commands of the platform's users, as one cyclopts App that `gridloom` mounts."""

from cyclopts import App

from gridloom_client.commands import assets, auctions, events, imports, monitoring, organisations
from gridloom_client.commands.account import login, logout, whoami
from gridloom_client.commands.call import call

app = App(name="gridloom", help="Use the platform.")
for command in (login, logout, whoami):
    app.command(command, group="Your account")
for room in (organisations.app, assets.app, monitoring.app, auctions.app, events.app, imports.app):
    app.command(room)
app.command(call, group="Using the platform")

__all__ = ["app"]
