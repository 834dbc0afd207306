"""Who pays and who earns: the lines of a statement, to the cent."""
