"""Motion between bodies of different structure: which bone plays which, from which pose, and how."""
