"""Figures and tables drawn from stored data: nothing here measures anything."""
