"""Published prices as reference series, so that settled prices can be checked against them."""
