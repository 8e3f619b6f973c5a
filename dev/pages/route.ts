import type { RequestListener } from 'node:http';

/** Responds to a request. The server catches what a route throws, or rejects with. */
export type Route = (...args: Parameters<RequestListener>) => void | Promise<void>;

/** Returns the route of a path, or undefined if the path has none. */
export type GetRoute = (path: string) => Route | undefined;
