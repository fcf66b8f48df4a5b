"use strict";
// The table and its chart. All text is set as text, never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const whole = (number) => number.toLocaleString("en");
const isKnown = (number) => number !== null && number !== undefined;
const decimals = (number, places) =>
  isKnown(number) ? number.toFixed(places).replace(/^(-?)0\./, "$1.") : "–";

function store(key, value) {
  try {
    localStorage.setItem("fashion-rq-" + key, value);
  } catch (error) {
    /* a page opened from a folder may keep nothing */
  }
}
function stored(key) {
  try {
    return localStorage.getItem("fashion-rq-" + key);
  } catch (error) {
    return null;
  }
}

// ------------------------------------------------------------------ theme

function startTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = stored("theme");
  const show = () => {
    const dark = chosen ? chosen === "dark" : system.matches;
    if (chosen) document.documentElement.dataset.theme = chosen;
    at("theme").setAttribute("aria-pressed", String(dark));
    return dark;
  };
  at("theme").addEventListener("click", () => {
    chosen = show() ? "light" : "dark";
    store("theme", chosen);
    show();
  });
  system.addEventListener("change", show);
  show();
}

// ------------------------------------------------------------------ table

const board = data.board;
const view = {
  set: board.sets[0],
  form: "paper",
  detail: "interval",
  find: "",
  sort: null,
  descending: true,
};

const keyOf = (column) => (view.form === "consistent" ? column.consistent : column.key);
const columnsShown = () => view.set.columns.filter((column) => isKnown(keyOf(column)));
const cellOf = (column, place) => board.cells[keyOf(column)][place] || [null, null, null, 0, 0];
const valueOf = (column, place) => cellOf(column, place)[0];
const competes = (place) => board.models[place].role === "model";
const places = () => board.models.map((_, place) => place);

function marksOf(column) {
  const figures = places()
    .filter(competes)
    .map((place) => valueOf(column, place))
    .filter(isKnown)
    .map((value) => value.toFixed(4));
  if (figures.length < 2) return [];
  const distinct = [...new Set(figures)].sort((one, other) => other - one);
  return column.lower ? distinct.reverse() : distinct;
}

function compare(one, other) {
  if (view.sort === "model")
    return board.models[one].name.localeCompare(board.models[other].name, "en") * (view.descending ? -1 : 1);
  const [left, right] = [valueOf(view.sort, one), valueOf(view.sort, other)];
  if (!isKnown(left) || !isKnown(right)) return isKnown(right) - isKnown(left); // undefined last, either way
  return (left - right) * (view.descending ? -1 : 1) || one - other;
}

function visible() {
  const wanted = view.find.trim().toLocaleLowerCase("en");
  return places()
    .filter((place) => !competes(place) || board.models[place].name.toLocaleLowerCase("en").includes(wanted))
    .sort(compare);
}

function sortBy(key, lower) {
  const same = view.sort === key;
  view.descending = same ? !view.descending : key !== "model" && !lower;
  view.sort = key;
  renderRows();
}

function headCell(key, title, lower, describe) {
  const button = h("button", { type: "button" }, title);
  button.addEventListener("click", () => sortBy(key, lower));
  const cell = h("th", { scope: "col", "data-sort": describe }, button);
  cell.sortKey = key;
  return cell;
}

function renderHead() {
  const columns = columnsShown();
  const groups = [];
  for (const column of columns) {
    if (groups.length && groups.at(-1).title === column.group) groups.at(-1).count += 1;
    else groups.push({ title: column.group, count: 1 });
  }
  const top = h(
    "tr",
    { class: "groups" },
    h("td"),
    groups.map((one) => h("th", { scope: "colgroup", colspan: one.count }, one.title)),
  );
  const bottom = h(
    "tr",
    {},
    headCell("model", "Model", false, "model"),
    columns.map((column) => headCell(column, column.title, column.lower, column.key)),
  );
  at("models").tHead.replaceChildren(top, bottom);
}

function underneath(cell) {
  const [, low, high, n, undefinedCount] = cell;
  if (view.detail === "interval")
    return h("small", {}, isKnown(low) ? decimals(low, 3) + "–" + decimals(high, 3) : " ");
  if (view.detail === "count")
    return h("small", {}, whole(n) + (undefinedCount ? ", " + whole(undefinedCount) + " undef." : ""));
  return null;
}

function figureCell(column, place, marks) {
  const cell = cellOf(column, place);
  const rank = competes(place) && isKnown(cell[0]) ? marks.indexOf(cell[0].toFixed(4)) : -1;
  const name = ["best", "second"][rank];
  const figure = h(rank === 0 ? "strong" : "span", { class: name }, decimals(cell[0], 4));
  return h(
    "td",
    { class: column === view.sort ? "sorted" : null },
    figure,
    name ? h("span", { class: "unseen" }, " " + name) : null,
    underneath(cell),
  );
}

function row(place, columns, marks) {
  const model = board.models[place];
  const dagger = model.home
    ? [
        h("span", { class: "home", "aria-hidden": "true" }, " †"),
        h("span", { class: "unseen" }, " competes at home"),
      ]
    : [];
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, model.name, dagger),
    columns.map((column, index) => figureCell(column, place, marks[index])),
  );
}

function renderRows() {
  const columns = columnsShown();
  const marks = columns.map(marksOf);
  const shown = visible();
  at("ranked").replaceChildren(...shown.filter(competes).map((place) => row(place, columns, marks)));
  at("references").replaceChildren(
    ...shown.filter((place) => !competes(place)).map((place) => row(place, columns, marks)),
  );
  for (const cell of at("models").tHead.querySelectorAll("[data-sort]")) {
    if (cell.sortKey === view.sort)
      cell.setAttribute("aria-sort", view.descending ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  }
  const all = places().filter(competes).length;
  const title = view.sort === "model" ? "name" : view.sort.group + " " + view.sort.title;
  const way = view.descending ? "descending" : "ascending";
  at("board-status").textContent =
    `${shown.filter(competes).length} of ${all} models, sorted by ${title}, ${way}.`;
  renderChart(shown);
}

function renderBoard() {
  const hasConsistent = view.set.columns.some((column) => column.consistent);
  if (!hasConsistent) view.form = "paper";
  at("form").value = view.form;
  at("form").disabled = !hasConsistent;
  const columns = columnsShown();
  if (view.sort !== "model" && !columns.includes(view.sort)) {
    view.sort = columns[0];
    view.descending = !view.sort.lower;
  }
  at("board-caption").textContent = view.set.title + (view.form === "consistent" ? ", consistent form" : "");
  renderHead();
  renderRows();
}

// ------------------------------------------------------------------ chart

function ticksOf(low, high) {
  const rough = (high - low) / 4 || 0.1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: Math.max(last - first, 1) + 1 }, (_, number) => (first + number) * step);
}

/** A figure with its interval on an axis; an arrow stands for one that lies beyond its ends. */
function chartMarks(place, column, start, end) {
  const [value, low, high] = cellOf(column, place);
  const x = (number) => Math.min(100, Math.max(0, (100 * (number - start)) / (end - start))) + "%";
  if (!isKnown(value)) return [];
  if (value < start) return [s("text", { x: "0%", y: "65%" }, "◂ beyond the axis")];
  if (value > end) return [s("text", { x: "100%", y: "65%", "text-anchor": "end" }, "beyond the axis ▸")];
  const [whisker, dot] = competes(place) ? ["whisker", "dot"] : ["whisker faint", "reference"];
  return [
    s("line", { class: "rule", x1: "0%", x2: "100%", y1: "50%", y2: "50%" }),
    isKnown(low) ? s("line", { class: whisker, x1: x(low), x2: x(high), y1: "50%", y2: "50%" }) : null,
    s("circle", { class: dot, cx: x(value), cy: "50%", r: 5 }),
  ];
}

const chartRow = (...cells) => h("div", { class: "chart-row" }, cells);

function renderChart(shown) {
  const column = view.sort === "model" ? columnsShown()[0] : view.sort;
  const near = shown.filter((place) => board.models[place].role !== "floor"); // it would squeeze the rest
  const scaled = near.length ? near : shown;
  const numbers = scaled.flatMap((place) => cellOf(column, place).slice(0, 3)).filter(isKnown);
  at("chart").hidden = numbers.length === 0;
  if (!numbers.length) return;
  const ticks = ticksOf(Math.min(...numbers), Math.max(...numbers));
  const [start, end] = [ticks[0], ticks.at(-1)];
  const places = Math.max(1, Math.ceil(-Math.log10(ticks[1] - ticks[0]) - 1e-9));
  const anchors = { 0: "start", [ticks.length - 1]: "end" };
  const labels = ticks.map((tick, place) => {
    const x = `${(100 * place) / (ticks.length - 1)}%`;
    return s("text", { x, y: 14, "text-anchor": anchors[place] || "middle" }, decimals(tick, places));
  });
  const form = view.form === "consistent" ? ", consistent form" : "";
  const axis = start > 0 ? ` The axis starts at ${decimals(start, places)}.` : "";
  at("chart-title").textContent =
    `${column.group}, ${column.title}${form}: figure and 95% interval, as in the table.${axis}`;
  const rows = shown.map((place) => {
    const marks = s("svg", {}, chartMarks(place, column, start, end));
    return chartRow(
      h("span", {}, board.models[place].name),
      marks,
      h("span", {}, decimals(valueOf(column, place), 4)),
    );
  });
  at("chart-rows").replaceChildren(...rows, chartRow(h("span"), s("svg", {}, labels), h("span")));
}

// ------------------------------------------------------------------ start

function notes() {
  const found = [
    "Bold: best. Underlined: second best. As printed, among models.",
    "The random floor and the oracle stand below the rule and do not compete.",
  ];
  if (board.models.some((model) => model.home))
    found.push("† competes at home: the edition’s hierarchy was built from this model’s vectors.");
  found.push(`Intervals: ${whole(board.resamples)} resamples of ${whole(data.edition.clusters)} clusters.`);
  return found.map((text) => h("li", {}, text));
}

function startBoard() {
  const edition = data.edition;
  document.title = "fashion-rq-bench leaderboard: " + edition.name;
  at("edition-name").textContent = edition.name;
  const clusters = `${whole(edition.clusters)} clusters`;
  const counts = `${whole(edition.products)} products, ${whole(edition.queries)} queries of ${clusters}`;
  at("edition-facts").textContent =
    `Edition ${edition.id} · ${counts} · matches measured with ${edition.encoder}`;
  at("version").textContent =
    `Written by fashion-rq-bench ${data.version}. Figures of different edition ids are not comparable.`;
  at("set").append(...board.sets.map((one, place) => h("option", { value: place }, one.title)));
  at("board-notes").append(...notes());
  at("set").addEventListener("change", (event) => {
    view.set = board.sets[event.target.value];
    renderBoard();
  });
  at("form").addEventListener("change", (event) => {
    view.form = event.target.value;
    renderBoard();
  });
  at("detail").addEventListener("change", (event) => {
    view.detail = event.target.value;
    renderRows();
  });
  at("find").addEventListener("input", (event) => {
    view.find = event.target.value;
    renderRows();
  });
  renderBoard();
}

startTheme();
startBoard();
