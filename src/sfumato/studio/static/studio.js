// What a page needs beyond its forms: all state is the server's.
"use strict";

// The slider writes into the field that is sent, and says its value in words.
document.addEventListener("input", (event) => {
  const slider = event.target;
  if (!slider.dataset || !slider.dataset.values) return;
  const value = slider.dataset.values.split(" ")[Number(slider.value)];
  document.getElementById(slider.dataset.sets).value = value;
  slider.setAttribute("aria-valuetext", slider.dataset.sets + " " + value);
});

// A column's form shows the fields of its type.
document.addEventListener("change", (event) => {
  if (event.target.name !== "type") return;
  const fields = event.target.closest("[data-kind]");
  if (fields) fields.dataset.kind = event.target.value;
});

// The server says what has the focus after a part of the page was exchanged.
document.addEventListener("focusOn", (event) => {
  const found = document.getElementById(event.detail.value);
  if (found) found.focus();
});
document.addEventListener("htmx:afterSettle", (event) => {
  const form = event.target.querySelector && event.target.querySelector("tr.editing form, form [aria-invalid]");
  const field = form && (form.matches("form") ? form.querySelector("[aria-invalid]") || form.querySelector("select") : form);
  if (field) field.focus();
});
