"""A run as one object: what the command line, Python and Spark call.

================  ====================================================================================
module            what is in it
================  ====================================================================================
options           everything a run is given, as typed, frozen dataclasses
how_to_repeat     the command, or the line of Python, that repeats a run
read_inputs       the votes, groups and known labels that the options name, read and checked
fit               ``fit(options) -> Run``
run               ``Run``: the fitted model, fair labels, summary, audit and story of a run
run_of_estimator  the run of a ``FairCrowd`` that was fitted in Python
write             the files of a run: ``run.write(folder)``
spark_run         the same on a Spark cluster
verify            ``verify(folder)``: run again from the evidence, and compare
recorded_runs     what each command writes, and how it is done again: the registry of ``verify``
file_differences  where two files differ: by field, by row and column, by line
folder_checks     what can be checked of a run whose inputs were in memory
frontier_run      what other epsilons cost, and the files that say so
apply_rule        the saved rule and model of a run on new tasks
check_file        the gap of the labels in a file against a limit
progress          what a run reports while it is under way
================  ====================================================================================
"""
