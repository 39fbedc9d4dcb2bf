/** Every endpoint that is neither an action nor of the entity API, by family. */
import { API_DOCUMENT_ENDPOINTS, API_PAGE_ENDPOINT } from './api-endpoints.ts'
import { OAUTH_ENDPOINTS } from './auth/oauth/routes.ts'
import { SESSION_ENDPOINTS } from './auth/session-routes.ts'
import { CLOCK_ENDPOINTS } from './clock/routes.ts'
import { HEALTH_ENDPOINTS } from './health.ts'
import { HEARTBEAT_ENDPOINT } from './heartbeat.ts'
import type { EndpointDescription } from './http/endpoint.ts'
import { LIVE_ENDPOINTS } from './live/routes.ts'
import { METRICS_ENDPOINT } from './metrics.ts'
import { PAYMENT_ENDPOINTS } from './payments/routes.ts'
import { REPORT_ENDPOINTS } from './reports/routes.ts'
import { SETTINGS_ENDPOINTS } from './settings/routes.ts'

export const ENDPOINTS = {
  node: [
    HEARTBEAT_ENDPOINT,
    METRICS_ENDPOINT,
    ...HEALTH_ENDPOINTS,
    ...LIVE_ENDPOINTS,
    ...API_DOCUMENT_ENDPOINTS,
    API_PAGE_ENDPOINT,
  ],
  payments: PAYMENT_ENDPOINTS,
  reports: REPORT_ENDPOINTS,
  clock: CLOCK_ENDPOINTS,
  auth: [...SESSION_ENDPOINTS, ...OAUTH_ENDPOINTS],
  settings: SETTINGS_ENDPOINTS,
} satisfies Record<string, readonly EndpointDescription[]>
