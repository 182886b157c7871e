"""3A for persons with histories: persons as a table with what is known of their events, and events given their person."""
