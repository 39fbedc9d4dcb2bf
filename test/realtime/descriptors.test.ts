import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { expect, it } from 'vitest'
import { nextDescriptor } from '../../src/realtime/descriptors.ts'

it.skipIf(process.platform === 'win32')(
  'predicts the number of the next file or connection',
  () => {
    const next = nextDescriptor()
    const opened = openSync(devNull, 'r')
    expect(opened).toBe(next)
    expect(nextDescriptor()).toBeGreaterThan(next)
    closeSync(opened)
    expect(nextDescriptor()).toBe(next)
  },
)
