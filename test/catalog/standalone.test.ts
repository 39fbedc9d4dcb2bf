/** A standalone MongoDB is refused by name, with the command that makes it a replica set. */
import { expect, it } from 'vitest'
import { openCatalog } from '../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import { startStandaloneMongo } from '../support/catalog/standalone-mongo.ts'
import { useOpened } from '../support/opened.ts'

const REASON =
  'is a standalone server, which has no transactions: start it with --replSet tollgate and run ' +
  "mongosh --eval 'rs.initiate()' once"
const mongo = useOpened(startStandaloneMongo)
const catalog = useOpened(() =>
  openCatalog({ url: mongo().url, database: 't', timeoutMs: 5_000, appName: 'test' }),
)

it('the check of readiness is refused with the reason', async () => {
  const refusal = catalog().ping()
  await expect(refusal).rejects.toThrow(CatalogUnavailableError)
  await expect(refusal).rejects.toThrow(REASON)
})

it('a transaction is refused with the reason', async () => {
  const write = catalog().transaction('write a plan', (session) =>
    catalog().plans.insertOne({} as never, { session }),
  )
  await expect(write).rejects.toThrow(CatalogUnavailableError)
  await expect(write).rejects.toThrow(REASON)
})
