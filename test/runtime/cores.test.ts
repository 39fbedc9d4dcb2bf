import { expect, it } from 'vitest'
import { availableCores } from '../../src/runtime/cores.ts'

const OWN = '/proc/self/cgroup'
const QUOTA = '/sys/fs/cgroup/cpu.max'

it.each([
  ['no quota', { [OWN]: '0::/\n', [QUOTA]: 'max 100000\n' }, 32],
  ['that of a container', { [OWN]: '0::/\n', [QUOTA]: '100000 100000\n' }, 1],
  ['a part of a core beside two', { [OWN]: '0::/\n', [QUOTA]: '250000 100000\n' }, 2],
  ['less than one core', { [OWN]: '0::/\n', [QUOTA]: '50000 100000\n' }, 1],
  ['more than the machine has', { [OWN]: '0::/\n', [QUOTA]: '6400000 100000\n' }, 32],
  ['that of the host, as it names its group', { [OWN]: '0::/a/b\n', [QUOTA]: '400000 100000' }, 4],
  ['version 1 only', { [OWN]: '1:cpu:/\n' }, 32],
  ['another system', {}, 32],
])('counts the cores of a quota: %s', (_, files: Record<string, string>, expected) => {
  expect(availableCores((file) => files[file] ?? '', 32)).toBe(expected)
})

it('counts the least quota of a service and the groups above it', () => {
  const group = '/sys/fs/cgroup/system.slice'
  const files: Record<string, string> = {
    [OWN]: '4:memory:/x\n0::/system.slice/tollgate.service\n',
    [`${group}/tollgate.service/cpu.max`]: '800000 100000\n',
    [`${group}/cpu.max`]: '300000 100000\n',
  }
  expect(availableCores((file) => files[file] ?? '', 32)).toBe(3)
})

it('counts those of this machine', () => {
  expect(availableCores()).toBeGreaterThanOrEqual(1)
})
