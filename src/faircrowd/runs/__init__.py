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
frontiers         what other epsilons, or other limits of a constraint, cost, and the files that say so
wording           messages in the words of the command line
new_tasks         the saved rule and model of a run on new tasks
next_votes        the tasks of a run on which another vote is worth most
dossiers          what an auditor files about the labels of a run, and how verify makes it again
convert           an export of a labelling platform as votes.csv and tasks.csv
finished_labels   labels in a file: checked against limits, or counted in a table of impact ratios
progress          what a run reports while it is under way
================  ====================================================================================
"""
