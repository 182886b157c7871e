"use strict";
(() => {
  const part = document.getElementById("columns");
  const tools = part.querySelector(".tools"), find = tools.querySelector("input"), said = tools.querySelector("output");
  const cards = [...part.querySelectorAll("details.column")];
  const shown = () => cards.filter((card) => !card.hidden);
  const look = () => {
    const word = find.value.trim().toLowerCase();
    for (const card of cards) card.hidden = !card.querySelector("summary").textContent.toLowerCase().includes(word);
    said.textContent = `${shown().length} of ${cards.length} columns`;
  };
  for (const [name, open] of [["open", true], ["fold", false]])
    tools.querySelector(`[name=${name}]`).addEventListener("click", () => shown().forEach((card) => (card.open = open)));
  find.addEventListener("input", look);
  tools.hidden = false;
  look();
})();
