"""The field gateway: telemetry of a site to the platform, dispatch of the platform to the site, by MQTT and Modbus TCP.

It is a client of the service like any other: of Gridloom it imports the SDK alone.
"""
