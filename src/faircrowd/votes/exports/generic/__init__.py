"""Forms of votes that belong to no platform: records of JSON and spreadsheets, a matrix of tasks and workers."""
