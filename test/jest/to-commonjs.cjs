const { transformSync } = require('esbuild');

/** Converts a package that is an ES module. Jest loads ES modules only with an experimental flag of Node. */
exports.process = (source) => transformSync(source, { format: 'cjs', sourcemap: 'inline' });
