// Commands to copy into a terminal. The server quotes the names of the study; designs are quoted here.

import { h } from "./dom.js";

const DONE = 1500; // milliseconds for which a button says that something was copied

/** A design as JSON in ASCII, in single quotes: the shell reads nothing in it. */
export const quotedDesign = (design) => {
  const text = JSON.stringify(design).replace(/[\u007f-\uffff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `'${text.replaceAll("'", "'\\''")}'`;
};

/** A command of the study, with further words; null where there is none. */
export const commandOf = (commands, name, ...words) => {
  const begin = commands?.begin[name];
  return begin ? [begin, ...words, commands.end].filter(Boolean).join(" ") : null;
};

const copied = async (element) => {
  const text = element.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a secure connection there is no clipboard to write to: what is selected can be copied.
    const range = document.createRange();
    range.selectNodeContents(element);
    window.getSelection().removeAllRanges();
    window.getSelection().addRange(range);
    if (!document.execCommand("copy")) return "Selected";
  }
  return "Copied";
};

/** A command with a button that copies it; nothing without a command. */
export const copyable = (label, command) => {
  if (!command) return null;
  const copy = async ({ currentTarget: button }) => {
    button.textContent = await copied(button.previousElementSibling);
    window.setTimeout(() => { button.textContent = "Copy"; }, DONE);
  };
  return h("div", { class: "command" }, h("span", { class: "soft", text: label }), h("code", { tabindex: "0", text: command }),
    h("button", { type: "button", "aria-label": `Copy: ${label}`, onclick: copy }, "Copy"));
};

/** The commands of a study. */
export const studyCommands = (commands) => {
  const made = [
    copyable("Resume", commandOf(commands, "resume")),
    copyable("Confirm everything promising", commandOf(commands, "confirm")),
    copyable("Write a note", commandOf(commands, "note", "'TEXT'")),
  ];
  const hint = commands.begin.enqueue ? "Select a design above, or an evaluation, for the commands that confirm it or put it next in line." : "";
  return [...made, h("p", { class: "soft", text: [commands.said, hint].filter(Boolean).join(" ") })];
};

/** The commands for one design; `number` is that of the tables, or nothing. */
export const designCommands = (commands, design, number) => [
  number ? copyable(`Confirm design ${number}`, commandOf(commands, "confirm", String(number))) : null,
  copyable("Put it next in line", commandOf(commands, "enqueue", quotedDesign(design))),
];
