"""The dossier of a run: what an auditor files about its labels, every number with the place it is from.

====================  ================================================================================
module                what is in it
====================  ================================================================================
fact_book             facts that remember where they are from, and texts made of them
run_facts             what a folder of a run tells, read once for all documents
sections              the parts of a document: rows, tables and texts
datasheet             what the data are, who was left out, how labels were made
fairness_account      gaps before and after, accuracy as known, estimated or believed
selection_table       selection rates and impact ratios, in the form of Local Law 144
ai_act_headings       headings of the EU AI Act's Article 10 and Annex IV, with the facts there are
dossier_page          dossier.html
dataset_card          README.md, a dataset card of Hugging Face
croissant             croissant.json, Croissant 1.1 with RAI fields
documents             the registry of all files of a dossier
====================  ================================================================================
"""
