"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const views = {};

  const theme = () => {
    const ink = dark.matches ? "#e6edf3" : "#1b1f24";
    const soft = dark.matches ? "#9aa4ae" : "#57606a";
    const line = dark.matches ? "#30363d" : "#d8dee4";
    const text = { labelColor: soft, titleColor: ink };
    return {
      background: null, font: "system-ui, sans-serif", view: { stroke: null }, title: { color: ink, anchor: "start", fontSize: 14 },
      axis: { ...text, labelFontSize: 12, titleFontSize: 13, titleFontWeight: 500, gridColor: line, domainColor: soft, tickColor: soft }, legend: { ...text, symbolOpacity: 1, labelFontSize: 12, titleFontSize: 12 },
    };
  };

  // The expressions of Vega are interpreted, not compiled, so that the page needs no right to make code.
  const draw = async () => {
    for (const [name, spec] of Object.entries(data.charts)) {
      const bare = structuredClone(spec);
      delete bare.title;  // the heading above says it
      const made = await vegaEmbed(`#chart-${name}`, bare,
        { actions: false, renderer: "svg", ast: true, config: theme() });
      views[name] = made.view;
    }
    const slider = document.getElementById("epsilon");
    if (slider) await show(Number(slider.value));
    document.documentElement.dataset.ready = "yes";
  };

  const replace = async (view, name, rows) => {
    if (view) await view.data(name, rows).runAsync();
  };

  const show = async (index) => {
    const stop = data.stops[index];
    for (const place of document.querySelectorAll("[data-live]")) place.textContent = stop[place.dataset.live];
    for (const cell of document.querySelectorAll("[data-cell]")) {
      const [row, column] = cell.dataset.cell.split(",");
      cell.textContent = stop.rows[row][column];
    }
    document.getElementById("epsilon").setAttribute("aria-valuetext", stop.epsilon);
    await replace(views.frontier, "chosen", stop.point);
    if (stop.thresholds.length) {
      const lines = stop.thresholds.map((t, a) => ({ group: data.groups[a], threshold: Math.min(Math.max(t, 0), 1) }));
      await replace(views.posterior, "thresholds", lines);
    }
    document.documentElement.dataset.stop = index;
  };

  const sortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const falls = head.getAttribute("aria-sort") !== "descending";
        for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", falls ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
        const isNumber = head.classList.contains("n");
        const order = (a, b) => {
          const [x, y] = [key(a), key(b)];
          if (isNumber && (x === "" || y === "")) return (x === "") - (y === "");  // what is not known comes last
          const by = isNumber ? Number(x) - Number(y) : x.localeCompare(y);
          return falls ? -by : by;
        };
        table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
      });
    });
  };

  for (const table of document.querySelectorAll("table.sortable")) sortable(table);
  const slider = document.getElementById("epsilon");
  if (slider) slider.addEventListener("input", () => show(Number(slider.value)));
  if (data.charts && Object.keys(data.charts).length) {
    draw();
    dark.addEventListener("change", draw);
  } else {
    document.documentElement.dataset.ready = "yes";
  }
})();
