export type { components, paths as Paths } from '../dist/api.d.ts'
export type { paths as ChargingPaths } from '../dist/charging.d.ts'
export { type CallOptions, type Client, type ClientOptions, createClient } from './client.ts'
export { ApiError, type Issue } from './errors.ts'
