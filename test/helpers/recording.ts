/** A port that records which of its methods are called. */
export function recording<Port extends object>(port: Port, called: Set<string>): Port {
  return new Proxy(port, {
    get: (target, name, receiver) => {
      if (typeof name === 'string') called.add(name);
      return Reflect.get(target, name, receiver);
    },
  });
}
