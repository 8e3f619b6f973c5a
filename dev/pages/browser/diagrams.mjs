/** Draws the diagrams of a page, in the system's light or dark colours. */

const { mermaid, matchMedia } = globalThis;
const isDark = matchMedia('(prefers-color-scheme: dark)').matches;

mermaid.initialize({
  startOnLoad: false,
  theme: isDark ? 'dark' : 'neutral',
  // The dark theme's own background of these labels is too light for their text.
  themeVariables: isDark ? { edgeLabelBackground: '#30363d' } : {},
});
await mermaid.run({ querySelector: 'pre.mermaid' });
