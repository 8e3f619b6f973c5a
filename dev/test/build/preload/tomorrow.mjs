/** Sets the clock of a process a day ahead. */
const Today = Date;
const DAY_MS = 24 * 60 * 60 * 1_000;

globalThis.Date = class extends Today {
  constructor(...values) {
    super(...(values.length === 0 ? [Today.now() + DAY_MS] : values));
  }

  static now() {
    return Today.now() + DAY_MS;
  }
};
