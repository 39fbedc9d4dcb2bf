import { describe, expect, it } from 'vitest'
import { sharedRead } from '../../src/catalog/shared-read.ts'

/** A read with calls that the test ends one by one. */
function stepwise() {
  const reads: { wanted: readonly number[]; end(): void; fail(): void }[] = []
  const read = sharedRead(
    (expected: readonly number[]) =>
      new Promise<number[]>((resolve, reject) => {
        reads.push({
          wanted: expected,
          end: () => resolve(expected.map((each) => each * 10)),
          fail: () => reject(new Error(`read ${expected.join()}`)),
        })
      }),
  )
  return { read, reads }
}

describe('a shared read', () => {
  it('calls during a read get the result of the next one', async () => {
    const { read, reads } = stepwise()
    const first = read(1)
    await expect.poll(() => reads.length).toBe(1)
    const [second, third] = [read(2), read(3)]
    reads[0]?.end()
    expect(await first).toEqual([10])
    await expect.poll(() => reads.length).toBe(2)
    expect(reads[1]?.wanted).toEqual([2, 3])
    const fourth = read(4)
    reads[1]?.end()
    expect(await second).toEqual([20, 30])
    expect(await third).toEqual([20, 30])
    await expect.poll(() => reads.length).toBe(3)
    reads[2]?.end()
    expect(await fourth).toEqual([40])
  })

  it('a failure is that of its callers only', async () => {
    const { read, reads } = stepwise()
    const first = read(1)
    await expect.poll(() => reads.length).toBe(1)
    const second = read(2)
    reads[0]?.fail()
    await expect(first).rejects.toThrow('read 1')
    await expect.poll(() => reads.length).toBe(2)
    reads[1]?.end()
    expect(await second).toEqual([20])
  })
})
