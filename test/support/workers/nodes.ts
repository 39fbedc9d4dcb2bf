/** Processors on one Redis, new for each test, whose ledger is empty before each test. */
import { beforeEach, expect } from 'vitest'
import { emptyLedger } from '../ledger.ts'
import { useOpened, useOpenedEach } from '../opened.ts'
import { startTestRedis, type TestRedis } from '../redis.ts'
import { openProcessorFixture, type ProcessorFixture } from './processor-fixture.ts'

type Options = Parameters<typeof openProcessorFixture>[1]

export function useNode(options?: Options) {
  const redis = useOpened(() => startTestRedis({ appendfsync: 'everysec' }))
  const scene = useNodeOn(redis, options)
  beforeEach(() => emptyLedger(scene().ledger))
  return { redis, scene }
}

export function useTwoNodes(options?: Options) {
  const { redis, scene } = useNode(options)
  return { redis, scene, other: useNodeOn(redis, options) }
}

/** A defect fails the test in which it occurs. */
function useNodeOn(redis: () => TestRedis, options: Options): () => ProcessorFixture {
  const open = () => openProcessorFixture(redis().url, options)
  return useOpenedEach(open, async (node) => {
    await node.close()
    expect(node.defects).toEqual([])
  })
}
