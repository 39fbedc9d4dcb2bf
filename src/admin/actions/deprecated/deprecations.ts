/** The deprecated calls of the action API, and their successors. */
import type { RawParameters } from '../../../requests/raw-parameters.ts'
import { type Action, pathsOf } from '../action.ts'

export interface Deprecation {
  /** Version of the interface that has deprecated it. */
  readonly since: string
  /** Paths that replace it. */
  readonly successors: readonly string[]
  /** Parameter that selects the deprecated operations of a path that also has others. */
  readonly selectedBy?: string
}

/** By path. */
export const DEPRECATIONS: Readonly<Record<string, Deprecation>> = {
  '/api/balance': { since: '5.0', successors: ['/api/generateexpected', '/billapi/lines/get'] },
  '/api/datausage': { since: '5.0', successors: ['/billapi/lines/get'] },
  '/api/activity': { since: '5.0', successors: ['/billapi/lines/get'] },
  '/api/find': { since: '5.0', successors: ['/billapi/lines/get'] },
  '/admin/save': { since: '5.0', successors: ['/billapi/plans/update', '/billapi/rates/update'] },
  '/api/rates': { since: '5.0', successors: ['/billapi/rates/get'] },
  '/api/plans': { since: '5.0', successors: ['/billapi/plans/get'] },
  '/api/remove': { since: '5.0', successors: ['/billapi/lines/delete'] },
  '/api/querybillrun': { since: '5.0', successors: ['/api/accountinvoices'] },
  '/api/recreateinvoices': { since: '5.0', successors: ['/billrun/specificcycle'] },
  '/api/subscribers': {
    since: '5.5',
    successors: [
      '/billapi/subscribers/get',
      '/billapi/subscribers/closeandnew',
      '/billapi/subscribers/close',
    ],
  },
  '/api/subscribersautorenew': {
    since: '5.5',
    successors: ['/billapi/autorenew/get', '/billapi/autorenew/create'],
  },
  '/api/balances': {
    since: '5.5',
    successors: ['/billapi/balances/get', '/billapi/balances/update'],
  },
  '/api/cards': {
    since: '5.5',
    successors: ['/billapi/balances/update'],
    selectedBy: 'method',
  },
  '/api/statistics': { since: '5.5', successors: ['/api/reports'] },
}

/** Since when this system has called them deprecated: RFC 9745 wants a date. */
const DEPRECATED_AT_S = Date.UTC(2026, 10, 26) / 1000

export function deprecationOf(action: Pick<Action, 'family' | 'name'>): Deprecation | null {
  return DEPRECATIONS[String(pathsOf(action)[0])] ?? null
}

/** Headers `Deprecation` (RFC 9745) and `Link` (RFC 8288) of every answer of a deprecated call. */
export function deprecationHeaders(
  action: Pick<Action, 'family' | 'name'>,
  raw: RawParameters,
): Readonly<Record<string, string>> {
  const found = deprecationOf(action)
  if (found === null) return {}
  const { successors, selectedBy } = found
  if (selectedBy !== undefined && !raw.has(selectedBy)) return {}
  const links = successors.map((path) => `<${path}>; rel="successor-version"`)
  return { deprecation: `@${DEPRECATED_AT_S}`, link: links.join(', ') }
}
