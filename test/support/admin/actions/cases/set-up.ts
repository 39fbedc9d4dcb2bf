/** The server, stores and verbs of a case file. */
import type { Catalog } from '../../../../../src/catalog/connection.ts'
import { type Fields, NOW_MS } from '../action-server.ts'
import { type CaseServer, stored, type Verb } from './steps.ts'

export interface SetUp {
  readonly server: CaseServer
  /** Before all cases. */
  readonly prepare?: () => Promise<unknown>
  /** Before each case. */
  readonly reset?: () => Promise<unknown>
  /** Variables of each case. */
  readonly variablesOf?: () => Fields
  readonly verbs?: Readonly<Record<string, Verb>>
}

/** Sets the clock back, and empties collections. */
export function emptied(server: CaseServer, ...names: (keyof Catalog & string)[]) {
  return async () => {
    server.at(NOW_MS)
    for (const name of names) await stored(server, name).deleteMany({})
  }
}
