"""The commands of the platform's users, as one cyclopts App that `gridloom` mounts."""

from cyclopts import App

from gridloom_client.commands import assets, auctions, events, imports, monitoring, organisations, virtual_assets
from gridloom_client.commands.account import join, login, logout, whoami
from gridloom_client.commands.call import call
from gridloom_client.commands.clock import clock

app = App(name="gridloom", help="Use the platform.")
app.command(login, group="Your account")
app.command(join, group="Your account")
app.command(logout, group="Your account")
app.command(whoami, group="Your account")
for room in (organisations, assets, monitoring, auctions, virtual_assets, events, imports):
    app.command(room.app)
app.command(call, group="Using the platform")
app.command(clock, group="Using the platform")

__all__ = ["app"]
