import { expect, it } from 'vitest'
import { createCatalogFeed } from '../../../src/catalog/feed/feed.ts'
import { insertEntity, recordingLog, useStore } from '../../support/catalog/store.ts'

const store = useStore()

it('feed changes report a replaced catalogue, but not the first one', async () => {
  const catalog = await store.open()
  await insertEntity(catalog, 'rates')
  const { log } = recordingLog()
  const feed = createCatalogFeed({ catalog, pollMs: 3_600_000, log })
  const reported: number[] = []
  feed.onCatalogueChange(() => reported.push(feed.current().revision))
  await feed.start()
  await insertEntity(catalog, 'subscribers')
  await feed.pollNow()
  expect(reported).toEqual([])
  await insertEntity(catalog, 'plans')
  await feed.pollNow()
  await feed.pollNow()
  expect(reported).toEqual([2])
  await feed.stop()
})
