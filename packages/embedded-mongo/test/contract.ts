import { randomBytes } from 'node:crypto'
import { type Db, MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe } from 'vitest'
import { aggregateContract } from './contract/aggregate.ts'
import { codeContract } from './contract/codes.ts'
import { concurrencyContract } from './contract/concurrency.ts'
import { conflictContract } from './contract/conflicts.ts'
import { cursorLifetimeContract } from './contract/cursor-lifetime.ts'
import { cursorContract } from './contract/cursors.ts'
import { documentContract } from './contract/documents.ts'
import { explainContract } from './contract/explain.ts'
import { indexContract } from './contract/indexes.ts'
import { planContract } from './contract/plans.ts'
import { projectionContract } from './contract/projections.ts'
import { queryContract } from './contract/queries.ts'
import { refusalContract } from './contract/refusals.ts'
import { reportContract } from './contract/reports.ts'
import { retryableContract } from './contract/retryable.ts'
import { sortContract } from './contract/sorts.ts'
import { transactionContract } from './contract/transactions.ts'
import { typeContract } from './contract/types.ts'
import { updateContract } from './contract/updates.ts'

/** A server under test: its URL and how to stop it. */
export type Server = { readonly url: string; close(): Promise<void> }

/** The MongoDB features used by the product, tested on every server in the same way. */
export function mongoContract(name: string, start: () => Promise<Server>): void {
  describe(name, () => {
    let server: Server
    let client: MongoClient
    let database: Db

    beforeAll(async () => {
      server = await start()
      client = await new MongoClient(server.url).connect()
      database = client.db(`contract_${randomBytes(6).toString('hex')}`)
    })

    afterAll(async () => {
      await database?.dropDatabase()
      await client?.close()
      await server?.close()
    })

    const db = () => database
    documentContract(db)
    queryContract(db)
    updateContract(db)
    cursorContract(db)
    cursorLifetimeContract(db)
    sortContract(db)
    projectionContract(db)
    concurrencyContract(db)
    codeContract(db)
    indexContract(db)
    planContract(db)
    explainContract(db)
    aggregateContract(db)
    reportContract(db)
    typeContract(db)
    refusalContract(db)
    transactionContract(db)
    conflictContract(db)
    retryableContract(db)
  })
}
