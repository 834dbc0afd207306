"""What the service answers, as values. What a newer service adds is ignored; units are those of the nomenclature."""
