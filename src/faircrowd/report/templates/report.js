"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const views = {};

  // Colours come from the style sheet, so that charts also change with dark mode and print.
  const text = { labelColor: "var(--soft)", titleColor: "var(--ink)" };
  const axis = { labelFontSize: 12, titleFontSize: 13, titleFontWeight: 500,
    gridColor: "var(--line)", domainColor: "var(--soft)", tickColor: "var(--soft)" };
  const config = {
    background: null, font: "system-ui, sans-serif", view: { stroke: null }, text: { color: "var(--soft)" },
    axis: { ...text, ...axis }, axisQuantitative: { labelOverlap: "greedy", labelSeparation: 8 },
    legend: { ...text, symbolOpacity: 1, labelFontSize: 12, titleFontSize: 12 },
  };

  // Vega interprets its expressions instead of compiling them, so that the page needs no permission to create code.
  const draw = async () => {
    for (const [name, spec] of Object.entries(data.charts)) {
      delete spec.title;  // it repeats the heading above
      const made = await vegaEmbed(`#chart-${name}`, spec, { actions: false, renderer: "svg", ast: true, config });
      views[name] = made.view;
    }
    if (slider) await show(Number(slider.value));
  };

  const show = async (index) => {
    const stop = data.stops[index];
    for (const place of document.querySelectorAll("[data-live]")) place.textContent = stop[place.dataset.live];
    for (const cell of document.querySelectorAll("[data-cell]")) {
      const [row, column] = cell.dataset.cell.split(",");
      cell.textContent = stop.rows[row][column];
    }
    slider.setAttribute("aria-valuetext", stop.epsilon);
    if (views.frontier) await views.frontier.data("chosen", stop.point).runAsync();
    if (views.posterior && stop.thresholds.length) await views.posterior.data("thresholds", stop.thresholds).runAsync();
    document.documentElement.dataset.stop = index;
  };

  const sortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      const isNumber = head.classList.contains("n");
      const ways = isNumber ? ["descending", "ascending"] : ["ascending", "descending"];
      button.addEventListener("click", () => {
        const way = head.getAttribute("aria-sort") === ways[0] ? ways[1] : ways[0];
        for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", way);
        const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
        const order = (a, b) => {
          const [x, y] = [key(a), key(b)];
          if (isNumber && (x === "" || y === "")) return (x === "") - (y === "");  // unknown values come last
          const by = isNumber ? Number(x) - Number(y) : x.localeCompare(y, "en", { numeric: true });
          return way === "ascending" ? by : -by;
        };
        table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
      });
    });
  };

  const slider = document.getElementById("epsilon");
  if (slider) slider.addEventListener("input", () => show(Number(slider.value)));
  for (const table of document.querySelectorAll("table.sortable")) sortable(table);
  draw().then(() => { document.documentElement.dataset.ready = "yes"; });
})();
