/** Responses of the endpoints outside the entity API, with their examples. */
import { ref, type Schema, text } from '../../catalog/entities/json-schema.ts'
import { content } from './errors.ts'

const USER = { user: 'ops@example.org', permissions: ['read', 'write'], last_login: null } as const
const INPUT = { username: 'ops@example.org', protocol: 'Internal' } as const

export interface NodeAnswer {
  readonly description: string
  readonly schema: Schema
  readonly example: unknown
  /** Defaults to `application/json`. */
  readonly type?: string
  /** The same as a stream, for `Accept: text/event-stream`. */
  readonly stream?: { readonly schema: Schema; readonly example: unknown }
  /** Names of error components that are returned with HTTP status 200. */
  readonly refused?: readonly string[]
  /** Response components by other HTTP status. */
  readonly others?: Readonly<Record<string, string>>
  /** Responses by other HTTP status. */
  readonly further?: Readonly<Record<string, Schema>>
  /** Example of the same schema with HTTP status 503. */
  readonly unavailableExample?: unknown
}

const ADMITTED = { '400': 'unreadable', '401': 'unauthenticated', '403': 'notAllowed' } as const
const SETTINGS = { '400': 'unreadable', '401': 'badToken', '403': 'forbidden' } as const
const ENTITY_ERRORS = ['ruleError', 'permissionError', 'loginError', 'targetError'] as const

const AUTH = {
  '400': 'badLogin',
  '403': 'forbidden',
  '413': 'tooLarge',
  '503': 'loginUnavailable',
}
const OAUTH = {
  '400': 'badOAuth',
  '401': 'badClient',
  '403': 'forbidden',
  '413': 'badOAuth',
  '429': 'tooManyTokens',
  '500': 'badOAuth',
  '503': 'badOAuth',
}

const LOGGED_IN = { refused: ['authError'], others: { ...AUTH, '429': 'tooMany' } } as const

const CODES: NodeAnswer = {
  description: 'The recovery codes.',
  schema: ref('recoveryCodes'),
  example: {
    status: 1,
    desc: 'success',
    details: { recovery_codes: ['7k2m-9qxd'] },
    input: {},
  },
  ...LOGGED_IN,
}

const REMOVED: NodeAnswer = {
  description: 'The second factor was removed.',
  schema: ref('doneAnswer'),
  example: { status: 1, desc: 'success', details: true, input: {} },
  ...LOGGED_IN,
}

const TOTP_ANSWERS: Readonly<Record<string, NodeAnswer>> = {
  'GET /auth/totp': {
    description: 'The second factor of the user.',
    schema: ref('totpState'),
    example: {
      status: 1,
      desc: 'success',
      input: {},
      details: { enrolled: false, enrolled_at: null, recovery_codes_left: 0, required: true },
    },
    refused: ['authError'],
    others: { '403': 'forbidden', '503': 'unavailable' },
  },
  'POST /auth/totp/begin': {
    description: 'The secret of a second factor.',
    schema: ref('totpSecret'),
    example: {
      status: 1,
      desc: 'success',
      input: {},
      details: {
        secret: 'JBSWY3DPEHPK3PXP',
        uri: 'otpauth://totp/Tollgate:ops?secret=JBSWY3DPEHPK3PXP',
      },
    },
    ...LOGGED_IN,
  },
  'POST /auth/totp/confirm': CODES,
  'POST /auth/totp/codes': CODES,
  'POST /auth/totp/remove': REMOVED,
  'POST /auth/totp/reset': {
    ...REMOVED,
    refused: ['authError', 'permissionError', 'loginError'],
    others: { ...AUTH, '401': 'badToken' },
  },
}

/** By method and path. */
export const NODE_ANSWERS: Readonly<Record<string, NodeAnswer>> = {
  ...TOTP_ANSWERS,
  'GET /api': {
    description: 'The node works.',
    schema: ref('heartbeat'),
    example: { status: 1, message: 'Tollgate API SUCCESS', version: '6.0' },
    unavailableExample: { status: 0, message: 'Redis unavailable', version: '6.0' },
    others: { '401': 'badToken', '403': 'forbidden' },
    refused: ['permissionError', 'loginError'],
  },
  'GET /metrics': {
    description: 'Metrics in Prometheus format.',
    schema: text('Lines with names and values.'),
    example: '# TYPE tollgate_debtors gauge\ntollgate_debtors{owner="account"} 0\n',
    type: 'text/plain',
    others: ADMITTED,
  },
  'GET /health/ready': {
    description: 'The node is ready.',
    schema: ref('readiness'),
    example: {
      status: 'ready',
      redis: 'ok',
      mongo: 'ok',
      ledger: 'ok',
      changes: 'ok',
      catalogue: 'ok',
    },
    unavailableExample: {
      status: 'unavailable',
      redis: 'unavailable',
      mongo: 'ok',
      ledger: 'unavailable',
      changes: 'ok',
      catalogue: 'unknown',
    },
    others: ADMITTED,
  },
  'GET /health/live': {
    description: 'The process runs.',
    schema: ref('liveness'),
    example: { status: 'live' },
    others: ADMITTED,
  },
  'GET /health/catalogue': {
    description: 'Stored entities that charging skips.',
    schema: ref('catalogueHealth'),
    example: {
      status: 'incomplete',
      skipped: [
        {
          node: 'n1:3000',
          role: 'realtime',
          collection: 'rates',
          name: 'CALL',
          path: 'rates.call.BASE',
          reason: 'must have a price',
        },
      ],
    },
    unavailableExample: { status: 'unknown', skipped: [] },
    others: ADMITTED,
  },
  'GET /openapi.json': {
    description: 'This document.',
    schema: ref('apiDescription'),
    example: { openapi: '3.1.0', info: { title: 'Tollgate entity API', version: '6.0' } },
    others: { ...ADMITTED, '503': 'unavailable' },
  },
  'GET /openapi/realtime.json': {
    description: 'The description of the charging port.',
    schema: ref('apiDescription'),
    example: { openapi: '3.1.0', info: { title: 'Tollgate charging', version: '6.0' } },
    others: ADMITTED,
  },
  'GET /docs': {
    description: 'This document as a page.',
    schema: text('An HTML page.'),
    example: '<!doctype html>',
    type: 'text/html',
    others: { ...ADMITTED, '503': 'unavailable' },
  },
  'POST /auth/login': {
    description: 'A session was opened.',
    schema: ref('loginAnswer'),
    example: { status: 1, desc: 'success', details: USER, input: INPUT },
    refused: ['authError'],
    others: { ...AUTH, '429': 'tooMany' },
  },
  'GET /auth/login': {
    description: 'The logged-in user.',
    schema: ref('currentUserAnswer'),
    example: {
      status: 1,
      desc: 'success',
      details: {
        ...USER,
        protocol: 'Internal',
        idle_end: '2026-03-01T10:30:00.000Z',
        absolute_end: '2026-03-01T22:00:00.000Z',
        actions: { 'accounts/get': { permitted: true, roles: ['read', 'admin'] } },
        time_zone: 'UTC',
        clock: null,
        currency: 'EUR',
      },
      input: {},
    },
    refused: ['authError'],
    others: { '403': 'forbidden', '405': 'badLogin', '503': 'unavailable' },
  },
  'POST /auth/logout': {
    description: 'The session has ended.',
    schema: ref('doneAnswer'),
    example: { status: 1, desc: 'success', details: true, input: {} },
    others: { '403': 'forbidden', '503': 'unavailable' },
  },
  'GET /auth/options': {
    description: 'Login methods.',
    schema: ref('loginOptions'),
    example: {
      status: 1,
      desc: 'success',
      details: { protocols: [{ type: 'ldap', label: 'Staff', name: 'corp' }] },
    },
    others: { '403': 'forbidden', '503': 'unavailable' },
  },
  'POST /auth/password': {
    description: 'The password was changed.',
    schema: ref('doneAnswer'),
    example: { status: 1, desc: 'success', details: true, input: { username: USER.user } },
    refused: ['authError'],
    others: { ...AUTH, '429': 'tooMany' },
  },
  'POST /oauth2/token': {
    description: 'A token.',
    schema: ref('tokenAnswer'),
    example: {
      access_token: '2YotnFZFEjr1zCsicMWpAA2YotnFZFEjr1zCsicM',
      expires_in: 3600,
      token_type: 'Bearer',
      scope: null,
    },
    others: OAUTH,
  },
  'POST /oauth2/revoke': {
    description: 'The token is revoked, or was not valid.',
    schema: ref('revoked'),
    example: { status: 1 },
    others: OAUTH,
  },
  'GET /api/clock': {
    description: 'The clock.',
    schema: ref('clockAnswer'),
    example: {
      status: 1,
      desc: 'success',
      details: {
        now: '2026-01-31T12:00:00.000Z',
        time_zone: 'UTC',
        ahead_ms: -25_833_600_000,
        test: true,
        start: '2026-01-01T00:00:00Z',
      },
    },
    others: ADMITTED,
  },
  'POST /api/clock': {
    description: 'The clock was moved.',
    schema: ref('movedAnswer'),
    example: {
      status: 1,
      desc: 'success',
      input: { to: '2026-03-01T00:00:00Z' },
      details: {
        from: '2026-01-31T12:00:00.000Z',
        now: '2026-03-01T00:00:01.020Z',
        ran: [
          { job: 'sessions', subject: '', at: '2026-01-31T13:00:00.004Z', counts: { expired: 3 } },
        ],
        runs: { sessions: 1, retention: 29 },
      },
    },
    refused: ENTITY_ERRORS,
    others: {
      ...ADMITTED,
      '403': 'noTestClock',
      '409': 'clockMoving',
      '413': 'tooLarge',
      '415': 'badType',
      '503': 'unavailable',
    },
  },
  'GET /api/settings': {
    description: 'A setting.',
    schema: ref('settingsAnswer'),
    example: {
      status: 1,
      desc: 'success',
      input: { action: 'get', category: 'taxation.default', path: '' },
      details: 'REDUCED',
      rev: 42,
    },
    refused: ENTITY_ERRORS,
    others: { ...SETTINGS, '405': 'badMethod', '503': 'unavailable' },
  },
  'POST /api/settings': {
    description: 'The stored setting after the change.',
    schema: ref('settingsAnswer'),
    example: {
      status: 1,
      desc: 'success',
      input: { action: 'set', category: 'taxation.default', path: '' },
      details: 'REDUCED',
      rev: 42,
    },
    refused: ENTITY_ERRORS,
    others: { ...SETTINGS, '413': 'tooLarge', '415': 'badType', '503': 'unavailable' },
  },
}

/** Response with status 503 and the schema of the successful one. */
export function unavailableContent({ schema, unavailableExample }: NodeAnswer): Schema {
  return {
    description: 'A store is unavailable.',
    ...content(schema, { unavailable: unavailableExample }),
  }
}
