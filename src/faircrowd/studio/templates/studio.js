"use strict";
const find = (id) => document.getElementById(id);

// Files: sent one by one, as they are.
const drop = find("drop");
if (drop) {
  const status = find("upload");
  const send = async (files) => {
    for (const file of files) {
      status.textContent = `saving ${file.name} …`;
      const answer = await fetch(`/files/${encodeURIComponent(file.name)}`, { method: "PUT", body: file });
      if (!answer.ok) {
        const found = await answer.json().catch(() => ({}));
        status.textContent = found.error || "The file could not be saved.";
        return;
      }
    }
    if (files.length) location.reload();
  };
  find("choose").addEventListener("change", (event) => send(event.target.files));
  for (const name of ["dragover", "dragenter"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); drop.classList.remove("over"); send(event.dataTransfer.files); });
}

// A job: ask how far it is until it has ended.
const job = find("job");
if (job && !job.dataset.final) {
  const look = async () => {
    try {
      const state = await (await fetch(job.dataset.state)).json();
      if (state.is_final) { location.replace(job.dataset.page); return; }
      find("doing").textContent = state.text || (state.before ? `waiting for ${state.before} other job${state.before === 1 ? "" : "s"}` : "starting");
      if (state.share === null) find("bar").removeAttribute("value"); else find("bar").value = state.share;
    } catch { find("doing").textContent = "The studio does not answer; was it closed?"; }
    setTimeout(look, 500);
  };
  look();
}

// Sliders of limits: every stop is in the page. Where two were moved, nothing was computed, and no number is shown.
if (find("sliders")) {
  const sliders = JSON.parse(find("sliders").textContent), places = [...document.querySelectorAll("[data-slider]")];
  const inputs = places.map((place) => place.querySelector("input"));
  const show = () => {
    const moved = inputs.map((input, n) => n).filter((n) => Number(inputs[n].value) !== Number(places[n].dataset.held));
    const leader = moved.length ? moved[0] : 0, known = moved.length < 2;
    const cells = sliders[leader].stops[inputs[leader].value].cells;
    for (const cell of document.querySelectorAll("[data-cell]")) cell.textContent = known ? cells[cell.dataset.cell] : "–";
    find("together").textContent = known ? "" : find("limits").dataset.again;
    places.forEach((place, n) => {
      const at = sliders[n].stops[inputs[n].value], own = known && (!moved.length || n === leader);
      place.querySelector("[data-shown]").textContent = at.shown;
      inputs[n].setAttribute("aria-valuetext", at.shown);
      for (const cell of place.querySelectorAll("[data-own]")) cell.textContent = own ? at.own[cell.dataset.own] : "not computed";
    });
  };
  for (const input of inputs) input.addEventListener("input", show);
  if (inputs.length) show();
}

// Constraints by clicks: what a kind does not take is not asked for.
if (find("builder")) {
  const choose = () => {
    const kind = find("kind").selectedOptions[0].dataset, takes = kind.takes.split(" ");
    find("kind-sentence").textContent = kind.sentence;
    find("limit").value = kind.limit;
    for (const part of document.querySelectorAll("[data-for]")) part.hidden = !takes.includes(part.dataset.for);
  };
  find("kind").addEventListener("change", choose);
  find("limit").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); find("add").click(); } });
  choose();
}

// Known labels by hand: one key per label.
const hand = find("hand");
if (hand) {
  const tasks = JSON.parse(find("hand-tasks").textContent), given = new Map();
  const buttons = [...document.querySelectorAll("[data-label]")];
  let at = 0;
  const show = () => {
    find("hand-count").textContent = at + 1;
    find("hand-done").textContent = given.size;
    find("hand-task").textContent = tasks[at].task;
    find("hand-text").textContent = tasks[at].text || "";
    for (const button of buttons) button.setAttribute("aria-pressed", given.get(tasks[at].task) === button.dataset.label);
  };
  const move = (step) => { at = Math.min(Math.max(at + step, 0), tasks.length - 1); show(); };
  const label = (value) => {
    given.set(tasks[at].task, value);
    if (at === tasks.length - 1) { show(); find("hand-message").textContent = "That was the last task; save them."; } else move(1);
  };
  for (const button of buttons) button.addEventListener("click", () => label(button.dataset.label));
  if (find("hand-other")) find("hand-other").addEventListener("change", (event) => { if (event.target.value) label(event.target.value); event.target.value = ""; });
  find("hand-back").addEventListener("click", () => move(-1));
  find("hand-skip").addEventListener("click", () => move(1));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || ["SELECT", "INPUT"].includes(event.target.tagName)) return;
    if (event.key === "ArrowLeft") move(-1);
    else if (event.key === "ArrowRight") move(1);
    else if (/^[1-9]$/.test(event.key) && buttons[event.key - 1]) label(buttons[event.key - 1].dataset.label);
  });
  find("hand-save").addEventListener("click", async () => {
    const answer = await fetch(hand.dataset.save, { method: "POST", body: JSON.stringify(Object.fromEntries(given)) });
    const found = await answer.json();
    if (found.page) location.assign(found.page); else find("hand-message").textContent = found.error;
  });
  show();
}

const back = document.querySelector("[data-back]");
if (back && document.referrer) back.href = document.referrer;
