/**
 * Every endpoint of the API and its access rule. The routes take their access from here; the
 * documentation is generated from it.
 */
import type { RouteAccess } from '../../identity/access.ts'
import { FILES_PATH } from '../../reports/job.ts'
import { pathsOf } from '../actions/action.ts'
import { ACTIONS } from '../actions/table.ts'

export interface Endpoint {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly access: RouteAccess
  readonly about: string
}

const READ = ['read'] as const
const WRITE = ['write'] as const
const ADMINS = ['admin'] as const

/** Authentication endpoints: their callers are not authenticated yet. */
export const AUTH_ENDPOINTS: readonly Endpoint[] = [
  { method: 'POST', path: '/auth/login', access: 'public', about: 'Log in' },
  {
    method: 'GET',
    path: '/auth/login',
    access: 'public',
    about: 'Show the current user, the end of the session, and what the user may do',
  },
  { method: 'POST', path: '/auth/logout', access: 'public', about: 'End the session' },
  { method: 'GET', path: '/auth/options', access: 'public', about: 'List the login methods' },
  {
    method: 'POST',
    path: '/auth/password',
    access: 'public',
    about: 'Change the password of the current user',
  },
  {
    method: 'GET',
    path: '/auth/totp',
    access: 'public',
    about: 'Show the second factor of the current user',
  },
  {
    method: 'POST',
    path: '/auth/totp/begin',
    access: 'public',
    about: 'Begin to set up a second factor; returns its secret once',
  },
  {
    method: 'POST',
    path: '/auth/totp/confirm',
    access: 'public',
    about: 'Confirm the second factor by a code; returns the recovery codes',
  },
  {
    method: 'POST',
    path: '/auth/totp/codes',
    access: 'public',
    about: 'Replace the recovery codes',
  },
  {
    method: 'POST',
    path: '/auth/totp/remove',
    access: 'public',
    about: 'Remove the second factor of the current user, unless a role requires it',
  },
  {
    method: 'POST',
    path: '/auth/totp/reset',
    access: ADMINS,
    about: 'Remove the second factor of a user who has lost it',
  },
  { method: 'POST', path: '/oauth2/token', access: 'public', about: 'Get an access token' },
  { method: 'POST', path: '/oauth2/revoke', access: 'public', about: 'Revoke a token' },
]

/** Endpoints of the node. Those listed in `admin.openPaths` are public. */
export const NODE_ENDPOINTS = {
  heartbeat: {
    method: 'GET',
    path: '/api',
    access: 'user',
    about: 'Heartbeat: whether the node works',
  },
  metrics: { method: 'GET', path: '/metrics', access: READ, about: 'Metrics for Prometheus' },
  health: {
    method: 'GET',
    path: '/health/ready',
    access: 'user',
    about: 'Readiness: whether the node can serve requests',
  },
  live: {
    method: 'GET',
    path: '/health/live',
    access: 'user',
    about: 'Liveness: whether the process runs',
  },
  catalogue: {
    method: 'GET',
    path: '/health/catalogue',
    access: READ,
    about: 'List the stored entities that charging skips',
  },
  sample: {
    method: 'GET',
    path: '/api/live',
    access: READ,
    about: 'Live figures of the last second, or a stream of them (`Accept: text/event-stream`)',
  },
  history: {
    method: 'GET',
    path: '/api/live/history',
    access: READ,
    about: 'Live figures of the last 15 minutes',
  },
  openapi: {
    method: 'GET',
    path: '/openapi.json',
    access: 'user',
    about: 'API description (OpenAPI)',
  },
  chargingOpenapi: {
    method: 'GET',
    path: '/openapi/realtime.json',
    access: 'user',
    about: 'API description of the charging port (OpenAPI)',
  },
  docs: { method: 'GET', path: '/docs', access: 'user', about: 'API description as a page' },
} as const satisfies Record<string, Endpoint>

export const SETTINGS_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/api/settings',
    access: READ,
    about: 'Read settings; security settings require admin',
  },
  { method: 'POST', path: '/api/settings', access: ADMINS, about: 'Change settings' },
]

export const CLOCK_ENDPOINTS = {
  show: {
    method: 'GET',
    path: '/api/clock',
    access: READ,
    about: 'Show the time of the installation',
  },
  move: {
    method: 'POST',
    path: '/api/clock',
    access: ADMINS,
    about: 'Move a test clock forward and run what is due',
  },
} as const satisfies Record<string, Endpoint>

/** Payment gateways. Pages of customers and notifications of gateways need no login. */
export const PAYMENT_ENDPOINTS = {
  list: {
    method: 'GET',
    path: '/paymentgateways/list',
    access: READ,
    about: 'List the payment gateways',
  },
  request: {
    method: 'GET',
    path: '/paymentgateways/getRequest',
    access: WRITE,
    about: 'Send a customer to a hosted page, as `/api/cards`',
  },
  page: {
    method: 'GET',
    path: '/paymentgateways/sandbox/:reference',
    access: 'public',
    about: 'Show the hosted page of the sandbox',
  },
  submit: {
    method: 'POST',
    path: '/paymentgateways/sandbox/:reference',
    access: 'public',
    about: 'Enter a card on the hosted page of the sandbox',
  },
  back: {
    method: 'GET',
    path: '/paymentgateways/OkPage',
    access: 'public',
    about: 'Return of a hosted page; the gateway verifies its result',
  },
  notify: {
    method: 'POST',
    path: '/paymentgateways/notify/:name',
    access: 'public',
    about: 'Notification of a payment gateway, verified by its signature',
  },
} as const satisfies Record<string, Endpoint>

/** Files of reports: their addresses are signed. */
export const REPORT_ENDPOINTS = {
  file: {
    method: 'GET',
    path: `${FILES_PATH}/:id`,
    access: 'public',
    about: 'Get the file of a report by its signed address',
  },
} as const satisfies Record<string, Endpoint>

/** The actions of the table. */
export const ACTION_ENDPOINTS: readonly Endpoint[] = ACTIONS.flatMap((action) => {
  const { access, about } = action
  return pathsOf(action).map((path) => ({ method: 'POST', path, access, about }) as const)
})

/** Charging, on its own port, authenticated by the keys of network elements. */
export const REALTIME_ENDPOINT: Endpoint = {
  method: 'POST',
  path: '/realtime',
  access: ['charge'],
  about: 'Charge a session',
}
