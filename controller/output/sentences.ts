// Sentences by which we know later, and after a restart, that it was us who said that something is programmed.

export const GATEWAY_PROGRAMMED = 'the address is published and the proxies serve the Gateway';
export const SET_PROGRAMMED = 'the proxies serve the set';
