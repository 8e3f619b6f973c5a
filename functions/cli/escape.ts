/** C0 controls, DEL and C1 controls: what a terminal may take for a command. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/g;

/** Escapes control characters of stored text, as JSON does, so that no terminal obeys them. */
export const escapeControls = (text: string): string => text.replace(CONTROLS, toEscape);

/** The same for text that is JSON already and may be indented: escaped, it is still the same JSON. */
export const escapeJsonControls = (json: string): string => json.replace(/[\u007f-\u009f]/g, toEscape);

/** Stored text in quotation marks. */
export const quote = (text: string): string => escapeControls(JSON.stringify(text));

const toEscape = (control: string): string => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
