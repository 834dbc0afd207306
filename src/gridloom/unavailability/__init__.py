"""Unavailabilities of assets; every change propagates to offers and schedules."""
