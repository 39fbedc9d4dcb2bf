/** A member of a {@link Deadlines} list; the fields belong to the list. */
export interface Deadline {
  deadlineMs: number
  earlier: Deadline | null
  later: Deadline | null
}

/**
 * Deadlines in the order in which they end, for waits of one and the same length: a linked list,
 * so that adding and removing cost nothing and one timer serves all.
 */
export class Deadlines<Member extends Deadline> {
  #first: Deadline | null = null
  #last: Deadline | null = null

  /** Adds at the end. Its deadline may not be before that of the last one. */
  add(member: Member): void {
    member.earlier = this.#last
    if (this.#last === null) this.#first = member
    else this.#last.later = member
    this.#last = member
  }

  /** Removes a member of this list. */
  remove(member: Member): void {
    if (member.earlier === null) this.#first = member.later
    else member.earlier.later = member.later
    if (member.later === null) this.#last = member.earlier
    else member.later.earlier = member.earlier
    member.earlier = null
    member.later = null
  }

  /** Removes and returns the first member if its time is over. */
  takeExpired(nowMs: number): Member | null {
    const first = this.#first as Member | null
    if (first === null || first.deadlineMs > nowMs) return null
    this.remove(first)
    return first
  }
}
