/**
 * Stops calls to a system that fails: after some failures in a row no call is made for a while,
 * then a single one as a probe. Its success closes the circuit; its failure doubles the time.
 */
export type CircuitState = 'closed' | 'open' | 'half-open'

export interface CircuitOptions {
  /** Failures in a row that open the circuit. */
  readonly failuresMax: number
  /** First and longest time without calls, ms. */
  readonly openMsMin: number
  readonly openMsMax: number
  /** Monotonic, ms. */
  readonly elapsedMs: () => number
  readonly onChange: (state: CircuitState) => void
}

export class CircuitBreaker {
  readonly #options: CircuitOptions
  #state: CircuitState = 'closed'
  #failures = 0
  #openMs: number
  #openUntilMs = 0

  constructor(options: CircuitOptions) {
    this.#options = options
    this.#openMs = options.openMsMin
  }

  get state(): CircuitState {
    return this.#state
  }

  /** Whether a call would be made now. */
  get isPassing(): boolean {
    if (this.#state === 'open') return this.#options.elapsedMs() >= this.#openUntilMs
    return this.#state === 'closed'
  }

  /** To be called before each call that is made. */
  begin(): void {
    if (this.#state === 'open') this.#change('half-open')
  }

  succeeded(): void {
    this.#failures = 0
    this.#openMs = this.#options.openMsMin
    if (this.#state === 'half-open') this.#change('closed')
  }

  failed(): void {
    const { failuresMax, openMsMin, openMsMax, elapsedMs } = this.#options
    this.#failures += 1
    // Calls that began before the circuit opened do not prolong it.
    if (this.#state === 'open') return
    if (this.#state === 'closed' && this.#failures < failuresMax) return
    this.#openMs = this.#state === 'closed' ? openMsMin : Math.min(this.#openMs * 2, openMsMax)
    this.#openUntilMs = elapsedMs() + this.#openMs
    this.#change('open')
  }

  #change(state: CircuitState): void {
    this.#state = state
    this.#options.onChange(state)
  }
}
