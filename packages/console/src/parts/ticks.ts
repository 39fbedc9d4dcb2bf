/** Round numbers along an axis. */

const TICKS_MAX = 5
const POWERS_MAX = 7

/** Multiples of 1, 2 or 5 times a power of ten, with both ends if they are such. */
export function ticksBetween(from: number, to: number): readonly number[] {
  const least = (to - from) / TICKS_MAX
  if (!(least > 0)) return [0]
  const power = Math.floor(Math.log10(least))
  const factor = [1, 2, 5, 10].find((each) => each * 10 ** power >= least) ?? 10
  const valueAt = (index: number) => {
    return power < 0 ? (index * factor) / 10 ** -power : index * factor * 10 ** power
  }
  const first = Math.ceil(from / valueAt(1))
  const count = Math.floor(to / valueAt(1)) - first + 1
  return Array.from({ length: count }, (_, index) => valueAt(first + index) + 0)
}

/** Powers of ten for a logarithmic axis. */
export function powersUpTo(value: number): readonly number[] {
  const all = Array.from({ length: Math.floor(Math.log10(value)) + 1 }, (_, power) => 10 ** power)
  const every = Math.ceil(all.length / POWERS_MAX)
  return all.filter((_, power) => power % every === 0)
}
