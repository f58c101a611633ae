"""Checking derivatives: an independent reference with an error, a verdict, a diagnosis, and who is to blame."""
