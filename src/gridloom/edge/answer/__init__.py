"""Answers: in the form that was asked for, compressed where it helps, and failures as problems."""
