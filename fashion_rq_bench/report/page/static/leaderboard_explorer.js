// The query explorer: one query, its intents, and its pool in the order of each model.

const explorer = data.explorer;
const STEP = 100;
const PARTLY = 50;
const GRADES = {
  ranking: ["Irrelevant", "Related", "Sibling", "Exact"],
  sibling: ["Other sibling", "Target"],
};
const look = {
  find: "",
  attribute: "",
  pool: "ranking",
  model: 0,
  rival: -1,
  order: "edition",
  shown: new Set(),
  limit: STEP,
  query: null,
  pinned: null,
};

const words = (name) => name.replaceAll("_", " ");
const gradeName = (grade) => GRADES[look.pool][grade];
const gradeTone = (grade) => (look.pool === "sibling" && grade === 1 ? 3 : grade); // a target is as Exact
const metricPlace = () => explorer.metrics.findIndex((metric) => metric.task === look.pool);
const figureOf = (query, model) => query.figures[metricPlace()][model];
const thousandth = (number) => (isKnown(number) ? decimals(number / 1000, 3) : "–");
const signed = (number) => (number < 0 ? "−" : number > 0 ? "+" : "±") + decimals(Math.abs(number) / 1000, 3);

function gap(query) {
  const [one, other] = [figureOf(query, look.model), figureOf(query, look.rival)];
  return isKnown(one) && isKnown(other) ? one - other : null;
}

// ------------------------------------------------------------------ list

function rankValue(query) {
  const value = look.order === "lowest" ? figureOf(query, look.model) : gap(query);
  if (!isKnown(value)) return Infinity; // last
  return look.order === "gain" ? -value : value;
}

function matching() {
  const wanted = look.find.trim().toLocaleLowerCase("en");
  const attribute = explorer.attributes.indexOf(look.attribute);
  const found = explorer.queries.filter(
    (query) =>
      query.pools[look.pool] &&
      (attribute < 0 || query.asked.includes(attribute)) &&
      (!wanted || query.id === wanted || query.text.toLocaleLowerCase("en").includes(wanted)),
  );
  if (look.order === "edition") return found;
  return found
    .map((query) => [rankValue(query), query])
    .sort((one, other) => one[0] - other[0] || 0)
    .map((pair) => pair[1]);
}

function queryItem(query) {
  const figure = [thousandth(figureOf(query, look.model))];
  if (look.rival >= 0 && isKnown(gap(query))) figure.push(h("br"), signed(gap(query)));
  const button = h(
    "button",
    {
      type: "button",
      tabindex: -1,
      "data-query": query.id,
      "aria-current": query === look.query ? "true" : null,
    },
    h("span", {}, query.text),
    h("span", { class: "figure" }, figure),
  );
  button.addEventListener("click", () => choose(query));
  return h("li", {}, button);
}

const listButtons = () => [...at("query-list").querySelectorAll("button")];

function rove(button, focus) {
  for (const one of listButtons()) one.tabIndex = -1;
  if (!button) return;
  button.tabIndex = 0;
  if (focus) button.focus();
}

function moveInList(event) {
  const buttons = listButtons();
  const here = buttons.indexOf(document.activeElement);
  const target = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (target === undefined || here < 0 || !buttons[target]) return;
  event.preventDefault();
  rove(buttons[target], true);
}

function renderList() {
  const found = matching();
  const part = found.slice(0, look.limit);
  at("query-list").replaceChildren(...part.map(queryItem));
  at("query-more").hidden = found.length <= look.limit;
  const figure = `${explorer.metrics[metricPlace()].title} of ${board.models[look.model].name}`;
  const rival = look.rival >= 0 ? ` and the difference from ${board.models[look.rival].name}` : "";
  at("query-status").textContent = `${whole(found.length)} queries. Right: ${figure}${rival}.`;
  rove(listButtons().find((button) => button.getAttribute("aria-current")) || listButtons()[0], false);
  return found;
}

/** List anew and show the first query of a new order, else the same one if it is still listed. */
function refresh(reordered) {
  look.limit = STEP;
  const found = renderList();
  if (reordered || !found.includes(look.query)) choose(found[0] || null);
  else renderQuery();
}

// ------------------------------------------------------------------ one query

function choose(query) {
  look.query = query;
  look.pinned = null;
  for (const button of listButtons()) {
    const mine = Boolean(query) && button.dataset.query === query.id;
    if (mine) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    if (mine) rove(button, false);
  }
  renderQuery();
  if (!query) return;
  at("announce").textContent = "Shown: " + query.text;
}

function step(by) {
  const found = matching();
  const place = found.indexOf(look.query) + by;
  if (!found[place]) return;
  if (place >= look.limit) {
    look.limit += STEP;
    renderList();
  }
  choose(found[place]);
  const button = listButtons()[place];
  if (button) at("query-list").scrollTop = button.offsetTop - at("query-list").offsetTop - 60;
  history.replaceState(null, "", "#query=" + encodeURIComponent(look.query.id));
}

function stepButton(title, by, found) {
  const button = h("button", { type: "button", disabled: !found[found.indexOf(look.query) + by] }, title);
  button.addEventListener("click", () => {
    step(by);
    focusStep(title);
  });
  return button;
}

function focusStep(title) {
  const buttons = [...at("query").querySelectorAll(".query-steps button")];
  const same = buttons.find((button) => button.textContent === title);
  (same && !same.disabled ? same : at("query")).focus();
}

function wish(name, value) {
  return h(
    "li",
    { class: "chip wish" },
    h("b", {}, words(name)),
    " ",
    Array.isArray(value) ? value.join(" or ") : value,
  );
}

function readings(query) {
  const many = query.intents.length > 1;
  return h(
    "ul",
    { class: "readings" },
    query.intents.map((intent, place) =>
      h(
        "li",
        {},
        many ? h("span", { class: "muted" }, "Reading " + (place + 1) + " ") : null,
        h(
          "ul",
          { class: "chips", "aria-label": "Wishes" },
          explorer.attributes.filter((name) => intent[name]).map((name) => wish(name, intent[name])),
        ),
      ),
    ),
  );
}

function shownBoxes() {
  return h(
    "fieldset",
    { class: "shown" },
    h("legend", {}, "Side by side"),
    boardOrder().map((place) => {
      const box = h("input", { type: "checkbox" });
      box.checked = look.shown.has(place);
      box.addEventListener("change", () => {
        if (box.checked) look.shown.add(place);
        else look.shown.delete(place);
        renderOrders();
      });
      return h("label", {}, box, board.models[place].name);
    }),
  );
}

function renderQuery() {
  const query = look.query;
  if (!query) {
    at("query").replaceChildren(h("p", { class: "muted", id: "query-text" }, "No query matches."));
    return;
  }
  const found = matching();
  at("query").replaceChildren(
    h(
      "div",
      { class: "query-head" },
      h("h3", { class: "query-text", id: "query-text" }, query.text),
      h("div", { class: "query-steps" }, stepButton("Previous", -1, found), stepButton("Next", 1, found)),
    ),
    h(
      "p",
      { class: "muted" },
      "Query " + query.id + " · cluster " + query.prefix + " · written by " + (query.source || "unknown"),
    ),
    readings(query),
    shownBoxes(),
    h("div", {
      class: "orders",
      id: "orders",
      role: "region",
      tabindex: 0,
      "aria-label": "The pool in the order of each model, scrolls sideways",
    }),
  );
  renderOrders();
}

// ------------------------------------------------------------------ the pool in each order

/** Positions of the pool's products, best first, with printed ranks ("2=" is tied). */
function orderOf(letters) {
  const ranks = Array.from(letters, (letter) => letter.codePointAt(0));
  const order = ranks.map((_, place) => place).sort((one, other) => ranks[one] - ranks[other] || one - other);
  return order.map((place) => {
    const before = ranks.filter((rank) => rank < ranks[place]).length;
    const tied = ranks.filter((rank) => rank === ranks[place]).length > 1;
    return { place, rank: before + 1 + (tied ? "=" : "") };
  });
}

function kindOf(state, percent) {
  if (state === "u") return { name: "unknown", sign: "?", said: "unknown" };
  if (state !== "f") return { name: "yes", sign: "✓", said: "satisfied" };
  return percent >= PARTLY
    ? { name: "near", sign: "◐", said: "partly" }
    : { name: "no", sign: "✕", said: "failed" };
}

function chip(attribute, value, state, percent) {
  const kind = kindOf(state, percent);
  const told = value || (state === "t" ? "in its text" : "not stated");
  const number =
    state === "u" || percent >= 100 ? null : h("span", { class: "number" }, decimals(percent / 100, 2));
  return h(
    "li",
    { class: "chip " + kind.name },
    h("span", { "aria-hidden": "true" }, kind.sign),
    h("span", { class: "unseen" }, kind.said + ": "),
    h("b", {}, words(attribute)),
    h("span", {}, told),
    number,
  );
}

const wishesOf = (query, pool, place) =>
  query.asked.map((attribute, row) => {
    const name = explorer.attributes[attribute];
    return { name, state: pool.states[row][place], percent: pool.match[row][place] };
  });

function productItem(query, pool, entry, grade, product) {
  const products = explorer.products;
  const title = h(
    "button",
    {
      type: "button",
      class: "title",
      "aria-pressed": String(look.pinned === product),
      "data-product": product,
    },
    products.title[product] || products.id[product],
  );
  title.addEventListener("click", () => pin(product));
  const rel = pool.rel[entry.place];
  return h(
    "li",
    { class: "product grade-" + gradeTone(grade) + (look.pinned === product ? " pinned" : "") },
    h(
      "div",
      { class: "line" },
      h("span", {}, entry.rank + " ", h("span", { class: "grade" }, gradeName(grade))),
      rel < 0 ? null : h("span", {}, "R " + decimals(rel / 100, 2)),
    ),
    title,
    h(
      "ul",
      { class: "chips" },
      wishesOf(query, pool, entry.place).map((one) =>
        chip(one.name, products.values[products[one.name][product]], one.state, one.percent),
      ),
    ),
  );
}

function pin(product) {
  look.pinned = look.pinned === product ? null : product;
  for (const button of at("orders").querySelectorAll("[data-product]")) {
    const mine = Number(button.dataset.product) === look.pinned;
    button.setAttribute("aria-pressed", String(mine));
    button.closest(".product").classList.toggle("pinned", mine);
  }
}

function strip(grades) {
  const highest = GRADES[look.pool].length - 1;
  const wide = 100 / grades.length;
  const bars = grades.map((grade, place) => {
    const high = (100 * (grade + 0.25)) / (highest + 0.25);
    return s("rect", {
      class: "bar-" + gradeTone(grade),
      x: place * wide + "%",
      width: wide * 0.8 + "%",
      y: 100 - high + "%",
      height: high + "%",
    });
  });
  return s("svg", { role: "img", "aria-label": "Grades by rank: " + grades.join(", ") }, bars);
}

/** Where the order first falls behind the best one, and what that product lacks. */
function reason(query, pool, order, grades) {
  const ideal = [...grades].sort((one, other) => other - one);
  const first = grades.findIndex((grade, rank) => grade < ideal[rank]);
  if (first < 0) return "The best order.";
  const wishes = wishesOf(query, pool, order[first].place);
  const failed = wishes.filter((one) => one.state === "f").map((one) => words(one.name));
  const unknown = wishes.filter((one) => one.state === "u").map((one) => words(one.name));
  const lacks = [
    failed.length ? failed.join(", ") + " not met" : "",
    unknown.length ? unknown.join(", ") + " not stated" : "",
  ]
    .filter(Boolean)
    .join("; ");
  return (
    "Rank " +
    (first + 1) +
    " is " +
    gradeName(grades[first]) +
    " where " +
    gradeName(ideal[first]) +
    " belongs: " +
    (lacks || "yet it meets every wish") +
    "."
  );
}

function orderColumn(query, model) {
  const pool = query.pools[look.pool];
  const shared = explorer.pools[pool.pool];
  const order = orderOf(pool.ranks[model]);
  const grades = order.map((entry) => shared.grades[entry.place]);
  const figures = explorer.metrics
    .map((metric, row) => [metric, query.figures[row][model]])
    .filter(
      ([metric, figure]) => isKnown(figure) && (metric.task === "sibling") === (look.pool === "sibling"),
    )
    .map(([metric, figure]) => metric.title + " " + thousandth(figure))
    .join(" · ");
  const draw = board.models[model].role === "floor" ? " One draw is shown." : "";
  return h(
    "section",
    { class: "order", "aria-label": board.models[model].name },
    h(
      "header",
      {},
      h("h3", {}, board.models[model].name),
      h("p", {}, figures),
      strip(grades),
      h("p", { class: "why" }, reason(query, pool, order, grades) + draw),
    ),
    h(
      "ol",
      {},
      order.map((entry, rank) => productItem(query, pool, entry, grades[rank], shared.products[entry.place])),
    ),
  );
}

function renderOrders() {
  const shown = boardOrder().filter((place) => look.shown.has(place));
  at("orders").replaceChildren(
    ...(shown.length
      ? shown.map((place) => orderColumn(look.query, place))
      : [h("p", { class: "muted" }, "Choose a model above.")]),
  );
}

// ------------------------------------------------------------------ start

/** Models by T1's main figure, best first, then floor and oracle. */
function boardOrder() {
  const cells = board.cells[board.sets[0].columns[0].key];
  const value = (place) => (cells[place] && isKnown(cells[place][0]) ? cells[place][0] : -1);
  return places().sort(
    (one, other) => competes(other) - competes(one) || (competes(one) ? value(other) - value(one) : 0),
  );
}

function startControls() {
  const order = boardOrder();
  const options = () => order.map((place) => h("option", { value: place }, board.models[place].name));
  at("query-model").append(...options());
  at("query-rival").append(h("option", { value: -1 }, "nobody"), ...options());
  at("query-attribute").append(
    h("option", { value: "" }, "anything"),
    ...explorer.attributes.map((name) => h("option", { value: name }, words(name))),
  );
  [look.model, look.rival] = [order[0], order.length > 1 && competes(order[1]) ? order[1] : -1];
  at("query-model").value = look.model;
  at("query-rival").value = look.rival;
  look.shown = new Set(order.filter(competes).slice(0, 3));
  if (!look.shown.size) look.shown.add(order[0]);
  const bind = (id, kind, name, read) =>
    at(id).addEventListener(kind, (event) => {
      look[name] = read(event.target.value);
      refresh(look.order !== "edition" && ["order", "model", "rival"].includes(name));
    });
  bind("query-find", "input", "find", String);
  bind("query-attribute", "change", "attribute", String);
  bind("query-pool", "change", "pool", String);
  bind("query-model", "change", "model", Number);
  bind("query-rival", "change", "rival", Number);
  bind("query-order", "change", "order", String);
  at("query-more").addEventListener("click", () => {
    look.limit += STEP;
    renderList();
  });
  at("query-list").addEventListener("keydown", moveInList);
  at("query-list").addEventListener("click", () => {
    if (look.query) history.replaceState(null, "", "#query=" + encodeURIComponent(look.query.id));
  });
}

function linkedQuery() {
  const linked = location.hash.startsWith("#query=") ? location.hash.slice(7) : "";
  return explorer.queries.find((query) => encodeURIComponent(query.id) === linked);
}

function startExplorer() {
  const held = explorer.queries.length;
  at("explorer-facts").textContent =
    held === explorer.total
      ? "All " + whole(held) + " queries of the tasks."
      : whole(held) +
        " of " +
        whole(explorer.total) +
        " queries: the first of every cluster, then the second, and so on.";
  const key = [
    ["s", 100, "Leather"],
    ["f", 62, "Striped"],
    ["f", 10, "Women"],
    ["u", 50, ""],
  ];
  const means = [
    "the wish is met",
    "partly: at least " + decimals(PARTLY / 100, 2) + ", below what counts as met",
    "failed",
    "the product does not say",
  ];
  at("match-key").append(
    ...key.map(([state, percent, value], place) =>
      h(
        "li",
        {},
        h(
          "ul",
          { class: "chips" },
          chip(["material", "pattern", "gender", "color"][place], value, state, percent),
        ),
        means[place],
      ),
    ),
  );
  startControls();
  renderList();
  choose(linkedQuery() || matching()[0] || null);
}

startExplorer();
