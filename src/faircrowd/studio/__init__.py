"""The studio: a local web page for people who do not use a terminal.

Read in this order: ``workspace`` (the folder in which everything lies), ``job_queue`` and ``job_process`` (work is done
by a process of its own per job), ``data_overview`` (what is in the files), ``studio_form`` (from a form to the options
of a run), ``constraint_builder`` (constraints by clicks), ``hand_labels`` (known labels), ``trust_check`` and
``limit_prices`` (what is shown before labels are made), ``task_story``, ``run_comparison`` and ``run_exports`` (what is
shown about finished runs), ``access`` (who may ask), ``studio_app`` (the pages).
"""
