/** The start-up banner of `tollgate start`: addresses, and three requests to paste. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Catalog } from '../catalog/connection.ts'
import { findSubscriber } from '../catalog/feed/subscribers.ts'
import { passwordFileIn } from '../identity/password-file.ts'
import { commandLine, versionOf } from './version.ts'

const DEMO_SID = 1001
const MIB = 1024 * 1024

export interface Addresses {
  readonly realtime: string
  readonly admin: string
  /** Addresses of the Diameter listeners; empty if Diameter is disabled. */
  readonly diameter: readonly string[]
  readonly dataDir: string
}

export function greetingLines({ realtime, admin, diameter, dataDir }: Addresses): string[] {
  return [
    `Tollgate ${versionOf()} is running. Ctrl-C stops it.`,
    '',
    `  charging   ${realtime}/realtime`,
    ...diameter.map((address) => `  diameter   ${address}`),
    `  console    ${admin}/`,
    `  api        ${admin}/docs`,
    `  metrics    ${admin}/metrics`,
    `  health     ${admin}/health/ready`,
    `  data       ${dataDir} (logs in ${dataDir}/logs)`,
  ]
}

/** Shown while the first user has the generated password. */
export function loginLines(dataDir: string): string[] {
  const path = passwordFileIn(dataDir)
  if (!existsSync(path)) return []
  return [
    '',
    `Log in as admin, with the password in ${path}, which has to be changed then: README.md.`,
  ]
}

/** Shown when Redis has lost the ledger. */
export function lostLines(): string[] {
  return [
    '',
    'REDIS HAS LOST THE LEDGER: every charge request is answered with 503 until you run',
    '',
    `  ${commandLine()} ledger rebuild`,
  ]
}

/** Three requests of a new session; empty if there is no demo subscriber. */
export async function demoLines(catalog: Catalog, url: string, nowMs: number): Promise<string[]> {
  const query = { key: 'sid', value: String(DEMO_SID), atMs: nowMs } as const
  if ((await findSubscriber(catalog, query)) === null) return []
  return [
    '',
    `A data session of demo subscriber ${DEMO_SID}, to paste line by line:`,
    '',
    ...sessionLines(url, `demo-${randomBytes(4).toString('hex')}`),
    '',
    `Its balances: ${commandLine()} balance show --sid ${DEMO_SID}`,
  ]
}

/** Start, update and release as `curl` commands, one per line. */
function sessionLines(url: string, sessionId: string): string[] {
  const session = { session_id: sessionId, sid: DEMO_SID, usaget: 'data', rating_group: 10 }
  const requests = [
    { record_type: 'start_request', ...session, request_num: 0, usagev: 10 * MIB },
    {
      record_type: 'update_request',
      ...session,
      request_num: 1,
      used_usagev: 8 * MIB,
      usagev: 10 * MIB,
    },
    { record_type: 'release_request', ...session, request_num: 2, used_usagev: 3 * MIB },
  ]
  return requests.map(
    (request) =>
      `curl -s ${url} -H 'Content-Type: application/json' -d '${JSON.stringify(request)}'; echo`,
  )
}
