"""Files and folders: written completely or not at all, read with care, removed when a run was killed.

Read in this order: ``output_folder`` (files that appear together), ``publish`` (how they appear), ``written`` (which
folders have their files), ``scratch`` (temporary folders), ``untrusted`` (files that others may have written),
``json_values`` (ids and labels in JSON), ``mapped_arrays`` (arrays in files). Nothing here knows of votes or models.
"""
