"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  // Where a value is on an axis, from 0 to 1; the axis is written beside the marks that move.
  const place = (axis, value) => {
    const [low, high, inset] = axis.split(",").map(Number);
    return inset + (1 - 2 * inset) * (value - low) / (high - low);
  };
  const move = (chart, name, values, set) => {
    for (const marks of document.querySelectorAll(`#chart-${chart} [data-marks=${name}]`)) {
      [...marks.children].forEach((mark, i) => {
        mark.style.display = i < values.length ? "" : "none";
        if (i < values.length) set(mark, values[i], marks);
      });
    }
  };
  const dot = (mark, value, marks) => {
    const [x, y] = Object.values(value);
    mark.setAttribute("cx", `${100 * place(marks.dataset.x, x)}%`);
    mark.setAttribute("cy", marks.ownerSVGElement.height.baseVal.value * (1 - place(marks.dataset.y, y)));
  };
  const line = (mark, value, marks) => {
    for (const end of ["x1", "x2"]) mark.setAttribute(end, `${100 * place(marks.dataset.x, value.threshold)}%`);
  };

  const show = (index) => {
    const stop = data.stops[index];
    for (const place of document.querySelectorAll("[data-live]")) place.textContent = stop[place.dataset.live];
    for (const cell of document.querySelectorAll("[data-cell]")) {
      const [row, column] = cell.dataset.cell.split(",");
      cell.textContent = stop.rows[row][column];
    }
    slider.setAttribute("aria-valuetext", stop.epsilon);
    move("frontier", "chosen", stop.point, dot);
    if (stop.thresholds.length) move("posterior", "thresholds", stop.thresholds, line);
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
  if (slider) {
    slider.addEventListener("input", () => show(Number(slider.value)));
    show(Number(slider.value));  // a browser that goes back keeps where the slider was
  }
  for (const table of document.querySelectorAll("table.sortable")) sortable(table);
  addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details")) part.open = true; });
  addEventListener("keydown", (event) => { if (event.key === "Escape") document.activeElement.blur(); });
  document.documentElement.dataset.ready = "yes";
})();
