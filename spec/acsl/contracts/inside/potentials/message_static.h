/* What the static functions of reference/potentials/message.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_MESSAGE_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_MESSAGE_STATIC_H

/*@ requires 0 < size && \valid(text + (0 .. size - 1));
    terminates \true;
    exits \false;
    assigns text[0 .. size - 1];
    ensures \exists integer i; 0 <= i < size && text[i] == 0; */
void text_printed(char *text, size_t size);

#endif
